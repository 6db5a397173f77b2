"""Chapter 7: what its runs show, in numbers and pictures; a module a section."""
