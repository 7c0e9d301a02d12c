"""Responses: the wire format of OpenAI's Responses API and of the Open Responses specification."""
