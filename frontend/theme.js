// Applies the stored theme and density before the first paint. components/theme.rs stores them.
for (const name of ["theme", "density"]) {
    const chosen = localStorage.getItem(`weir.${name}`);
    if (chosen && chosen !== "system") document.documentElement.dataset[name] = chosen;
}
