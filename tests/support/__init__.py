"""What tests share: traces made by hand, pages to drive, lessons to run."""
