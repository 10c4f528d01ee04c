"""Text in every script: normal forms, index and query terms, packed terms, language guesses.

Nothing is imported here; take what you need from the module that holds it.
"""
