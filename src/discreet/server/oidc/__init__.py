"""Signing in through an identity provider that speaks OpenID Connect, beside tokens."""
