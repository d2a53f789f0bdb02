"""Trained models for other engines: what these can express, the converted model beside the run, decoding through it."""
