"""The one typeface of pages, charts and reports: that of the system, as `.streamlit/config.toml` has it too."""

SANS = "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
