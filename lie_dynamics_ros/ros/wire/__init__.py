"""The form of messages: conversions, serialized forms, quality of service."""
