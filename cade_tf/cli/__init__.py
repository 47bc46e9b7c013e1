"""The command line: flags, help texts, progress and the commands' common frame."""
