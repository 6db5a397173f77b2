"""A federation in the reader's browser: the core's own rules, without a kernel.

- `state`: what can be chosen there, and what every choice is in the core;
- `task`: the letters, and every way in which the page divides them;
- `export`: all of it as files, the rules as programs traced from the core;
- `live`: a piece of it in a chapter; `own`: a method of the reader in it;
- `whole`: all of it as one page that needs no server;
- `command`: `python -m fedlab_core play`, which repeats a page's state in Python;
- `page/`: what the browser runs.
"""
