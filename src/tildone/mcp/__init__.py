"""Plans over the Model Context Protocol: tools, resources and a prompt, on pipes or over HTTP."""
