"""The core's rules in the reader's browser.

`tracing` writes a method as programs that run without PyTorch; `playground` is the page
that runs them, and `command` has the verbs of the command line.
"""
