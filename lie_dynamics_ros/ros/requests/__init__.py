"""Services: requests in, responses out, computed beside the stream of states."""
