"""The servers of the operator's tools file: what it says, what the operator confirmed, and the tools that follow from both."""
