"""What can be computed from a release at no cost in privacy."""
