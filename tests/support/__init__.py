"""What only the package's own tests need."""
