"""The same as `mnemic demo`: keep a chat, find things in it, change one, keep people apart."""

from mnemic.cli import main

if __name__ == "__main__":
    main(["demo"])
