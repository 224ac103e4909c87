"""Looking at what is drawn: the page of the viewer by its protocol and by a browser, and pictures."""
