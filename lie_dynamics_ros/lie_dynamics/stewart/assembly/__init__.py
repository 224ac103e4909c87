"""All poses that have given leg lengths."""
