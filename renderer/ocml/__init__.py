"""OpenChatML 2.2: text and JSON, both ways."""
