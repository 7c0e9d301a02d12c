"""In which language a page is: what decides it for each request, and the form with which a person chooses."""
