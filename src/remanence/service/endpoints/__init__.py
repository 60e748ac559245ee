"""The operations, each a function of a space and a request; decisions of people, and files that become memories."""
