"""The same as `mnemic demo`: keep a year of chats, see what is left out and why, find things, change one."""

from mnemic.cli import main

if __name__ == "__main__":
    main(["demo"])
