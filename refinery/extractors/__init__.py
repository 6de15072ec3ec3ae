"""Text of a web page by three libraries, each with the settings of the pipelines that use it. They are imported when called."""
