"""Chapter 4: what its runs show, in numbers and pictures; a module a section."""
