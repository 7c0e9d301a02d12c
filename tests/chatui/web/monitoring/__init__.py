"""Tests of the monitoring endpoints."""
