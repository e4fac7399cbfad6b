"""The explorer: views of algorithms on machines, in the browser or saved as one file."""
