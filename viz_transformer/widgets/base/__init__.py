"""What all views share: their base class, their scripts joined, a picture for saved notebooks."""
