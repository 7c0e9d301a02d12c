"""The administration pages: people, groups, model servers, failures, settings.

Begin with ``parts``: each part checks by itself who may see it, and ``permissions.administration`` has the answers.
"""
