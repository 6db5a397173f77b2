"""Chapter 3: the right weight for a long walk. A module a section."""
