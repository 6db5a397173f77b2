"""A federation in the reader's browser: the core's own rules, without a kernel.

- `state`: what can be chosen there, and what every choice is in the core;
- `task`: the letters, and every way in which the page divides them;
- `export`: all of it as files, the rules as programs traced from the core;
- `presets`: the stories of the page; `own`: a method of the reader in it;
- `page_file`: all of it as one page that needs no server;
- `page/`: what the browser runs.
"""
