"""Shared parts of all views: base class, traits, script bundles, static pictures for saved notebooks."""
