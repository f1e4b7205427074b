"""Interactive views for notebooks: Python holds their state, the browser draws them."""
