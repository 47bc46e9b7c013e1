"""Loss, optimisers, the inner step and the outer loop."""
