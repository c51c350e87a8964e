"""Runs the programs of the Java client's README in an empty project: java_package.py FOLDER SCRATCH. The packages are built a second time, which
must make the same archives, and installed into a local repository of their own. The project is built offline."""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

import readme

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>reader</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>io.github.weir-ratelimit</groupId>
      <artifactId>weir-client</artifactId>
      <version>0.1.0</version>
    </dependency>
  </dependencies>
  <build>
    <pluginManagement>
      <plugins>
        <plugin>
          <artifactId>maven-resources-plugin</artifactId>
          <version>3.5.0</version>
        </plugin>
        <plugin>
          <artifactId>maven-compiler-plugin</artifactId>
          <version>3.14.1</version>
        </plugin>
      </plugins>
    </pluginManagement>
  </build>
</project>
"""


def main() -> None:
    folder, scratch = (pathlib.Path(argument) for argument in sys.argv[1:])
    repository, project = scratch / "m2", scratch / "java-project"
    # The reactor was built with it, so it has all that an offline build needs.
    shutil.copytree(pathlib.Path.home() / ".m2" / "repository", repository, copy_function=link)
    offline = ["--offline", f"-Dmaven.repo.local={repository}"]
    first = digests(folder)
    for target in folder.glob("*/target"):
        shutil.rmtree(target)
    maven(folder, *offline, "-DskipTests", "-Dmaven.javadoc.skip=true", "install")
    second = digests(folder)
    if differing := [name for name, digest in second.items() if first.get(name) != digest]:
        sys.exit(f"a second build makes other archives: {', '.join(differing)}")
    sources = project / "src" / "main" / "java"
    sources.mkdir(parents=True)
    (project / "pom.xml").write_text(POM)
    programs = readme.programs(folder, "java")
    names = [re.search(r"^public class (\w+)", code, re.MULTILINE)[1] for code, _ in programs]
    for name, (code, _) in zip(names, programs):
        (sources / f"{name}.java").write_text(code)
    maven(project, *offline, "compile")
    jar = repository / "io/github/weir-ratelimit/weir-client/0.1.0/weir-client-0.1.0.jar"
    for name, (_, expected) in zip(names, programs):
        readme.compare(expected, ["java", "-cp", f"{project / 'target' / 'classes'}:{jar}", name], project)
    for archive in sorted(repository.glob("io/github/weir-ratelimit/*/0.1.0/*.jar")):
        print(f"   {archive.name}: {archive.stat().st_size:,} bytes")


def digests(folder: pathlib.Path) -> dict[str, str]:
    """Of the archives that a build made, by their names."""
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in sorted(folder.glob("*/target/*.jar"))}


def maven(folder: pathlib.Path, *arguments: str) -> None:
    ended = subprocess.run(["mvn", "-B", "-q", "-Dkotlin.compiler.daemon=false", *arguments], cwd=folder, stdout=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        sys.exit(f"{ended.stdout}mvn {' '.join(arguments)} failed")


def link(source: str, target: str) -> None:
    """Copies a file without its bytes where that is possible."""
    try:
        pathlib.Path(target).hardlink_to(source)
    except OSError:
        shutil.copy(source, target)


main()
