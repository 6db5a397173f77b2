"""Chapter 2: how loudly should a clinic speak? A module a section."""
