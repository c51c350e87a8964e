//! Makes the files of the dashboard from its compiled program, with the libraries of `wasm-bindgen-cli` and `wasm-split-cli`:
//! `weir-bind split PROGRAM FOLDER NAME` and `weir-bind bind PROGRAM FOLDER NAME`.

use std::path::Path;

use anyhow::{Result, bail};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["bind", program, folder, name] => bind(Path::new(program), Path::new(folder), name),
        #[cfg(feature = "split")]
        ["split", program, folder, name] => split(Path::new(program), Path::new(folder), name),
        _ => bail!("usage: weir-bind bind|split PROGRAM FOLDER NAME"),
    }
}

/// Writes the JavaScript beside the program.
fn bind(program: &Path, folder: &Path, name: &str) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(program).out_name(name).typescript(false).web(true)?;
    // The parts need the program's memory, table and stack; nobody needs names.
    bindgen.keep_lld_exports(true).remove_name_section(true);
    bindgen.generate(folder)
}

/// Moves the groups of pages out of the program, each into a file.
#[cfg(feature = "split")]
fn split(program: &Path, folder: &Path, name: &str) -> Result<()> {
    use anyhow::{Context as _, anyhow};

    let wasm = std::fs::read(program).with_context(|| format!("read {}", program.display()))?;
    let main_out_path = folder.join(format!("{name}.wasm"));
    let main_module = format!("./{name}.js");
    let mut options = wasm_split_cli_support::Options::new(&wasm);
    options.output_dir = folder;
    options.main_out_path = &main_out_path;
    options.main_module = &main_module;
    wasm_split_cli_support::transform(options).map_err(|error| anyhow!("{error:?}"))?;
    Ok(())
}
