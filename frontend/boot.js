// Fetches the program and runs it. Until then the page is an outline; a failure puts a message there.
import("./{{script}}")
    .then((weir) => weir.default({ module_or_path: new URL("./{{program}}", import.meta.url) }))
    .catch((error) => {
        document.getElementById("loading")?.remove();
        document.body.append(document.getElementById("not-loaded").content);
        throw error;
    });
