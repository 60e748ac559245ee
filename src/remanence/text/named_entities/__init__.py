"""The names of people, places, organizations and other things in a text, and which of them are aliases."""
