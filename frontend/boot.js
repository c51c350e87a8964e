// Fetches the program and runs it. Without the program the page is empty, so a failure puts a message there.
import("./{{script}}")
    .then((weir) => weir.default({ module_or_path: new URL("./{{program}}", import.meta.url) }))
    .catch((error) => {
        document.body.append(document.getElementById("not-loaded").content);
        throw error;
    });
