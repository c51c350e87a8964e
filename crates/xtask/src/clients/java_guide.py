"""Compiles the Java and Kotlin blocks of the guide and of the Java client's README, and runs the Kotlin programs: java_guide.py FOLDER SCRATCH.
java_package.py ran before, and installed the packages into a local repository in SCRATCH. The project is built offline."""

import pathlib
import re
import subprocess
import sys

import readme

DOCS = pathlib.Path(__file__).resolve().parents[4] / "docs"

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>guide</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <maven.compiler.parameters>true</maven.compiler.parameters>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencyManagement>
    <dependencies>
      <!-- Those of the client for Kotlin; Spring Boot has older ones. -->
      <dependency>
        <groupId>org.jetbrains.kotlin</groupId>
        <artifactId>kotlin-stdlib</artifactId>
        <version>$kotlin</version>
      </dependency>
      <dependency>
        <groupId>org.jetbrains.kotlinx</groupId>
        <artifactId>kotlinx-coroutines-core</artifactId>
        <version>$kotlinx-coroutines</version>
      </dependency>
      <dependency>
        <groupId>org.jetbrains.kotlinx</groupId>
        <artifactId>kotlinx-coroutines-core-jvm</artifactId>
        <version>$kotlinx-coroutines</version>
      </dependency>
      <dependency>
        <groupId>org.springframework.boot</groupId>
        <artifactId>spring-boot-dependencies</artifactId>
        <version>$spring-boot</version>
        <type>pom</type>
        <scope>import</scope>
      </dependency>
    </dependencies>
  </dependencyManagement>
  <dependencies>
    <dependency>
      <groupId>io.github.weir-ratelimit</groupId>
      <artifactId>weir-spring-boot-starter</artifactId>
      <version>0.1.0</version>
    </dependency>
    <dependency>
      <groupId>io.github.weir-ratelimit</groupId>
      <artifactId>weir-client-kotlin</artifactId>
      <version>0.1.0</version>
    </dependency>
    <dependency>
      <groupId>org.springframework.boot</groupId>
      <artifactId>spring-boot-starter-web</artifactId>
    </dependency>
    <dependency>
      <groupId>org.springframework.boot</groupId>
      <artifactId>spring-boot-starter-webflux</artifactId>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin>
        <artifactId>maven-resources-plugin</artifactId>
        <version>3.5.0</version>
      </plugin>
      <plugin>
        <artifactId>maven-compiler-plugin</artifactId>
        <version>3.14.1</version>
      </plugin>
      <plugin>
        <groupId>org.jetbrains.kotlin</groupId>
        <artifactId>kotlin-maven-plugin</artifactId>
        <version>$kotlin</version>
        <configuration>
          <jvmTarget>17</jvmTarget>
          <sourceDirs>
            <sourceDir>src/main/kotlin</sourceDir>
            <sourceDir>src/main/java</sourceDir>
          </sourceDirs>
        </configuration>
        <executions>
          <execution>
            <phase>compile</phase>
            <goals>
              <goal>compile</goal>
            </goals>
          </execution>
        </executions>
      </plugin>
    </plugins>
  </build>
</project>
"""

# What a reader has already.
SURROUNDINGS = """package guide;

public class Reader {
    public record Mail(String to) {}
    public record User(String id) {}
    public record Request(long rows) {}
    public record Completion(long tokens) {}
    public static class Mailer { public void send(Mail mail) {} }
    public static class TooManyMails extends RuntimeException { public TooManyMails(Long retryAfterMs) {} }
}
"""

JAVA = """import static io.github.weirratelimit.spring.RateLimit.OnError.ALLOW;
import guide.Reader.*;
import io.github.weirratelimit.*;
import io.github.weirratelimit.spring.*;
import java.io.*;
import java.time.Duration;
import java.util.*;
import org.springframework.context.annotation.*;
import org.springframework.stereotype.*;
import org.springframework.web.bind.annotation.*;
import org.springframework.web.client.RestClient;
"""

KOTLIN = """import guide.Reader.*
import io.github.weirratelimit.*
import io.github.weirratelimit.kotlin.*
import io.github.weirratelimit.spring.*
import kotlin.time.Duration.Companion.seconds
import org.springframework.web.bind.annotation.*
private val mailer = Mailer()
"""


def main() -> None:
    folder, scratch = (pathlib.Path(argument) for argument in sys.argv[1:])
    repository, project = scratch / "m2", scratch / "java-guide"
    versions = dict(re.findall(r"<([\w-]+)\.version>([^<]+)<", (folder / "pom.xml").read_text("utf-8")))
    write(project / "pom.xml", re.sub(r"\$([\w-]+)", lambda name: versions[name[1]], POM))
    write(project / "src/main/java/guide/Reader.java", SURROUNDINGS)
    pages = [*readme.blocks(DOCS / "clients" / "java.md"), *readme.blocks(folder / "README.md")]
    programs = dict(readme.programs(folder, "kotlin") + [(code, "sent\nwait 10 s\n") for kind, code in readme.blocks(DOCS / "api.md") if kind == "kotlin"])
    for number, (kind, code) in enumerate(pages):
        if kind == "java" and not code.startswith("import "):
            write(project / f"src/main/java/block{number}/Block.java", f"package block{number};\n{JAVA}{of_java(code)}")
        if kind == "kotlin" and code not in programs:
            write(project / f"src/main/kotlin/Block{number}.kt", f"package block{number}\n{KOTLIN}{code}")
    for number, code in enumerate(programs):
        write(project / f"src/main/kotlin/Program{number}.kt", f"package program{number}\n{code}")
    command = ["mvn", "-B", "-q", "-Dkotlin.compiler.daemon=false", "--offline", f"-Dmaven.repo.local={repository}", "compile"]
    if subprocess.run(command, cwd=project).returncode != 0:
        sys.exit("the blocks of the guide do not compile")
    needed = {
        "io/github/weir-ratelimit/weir-client": "0.1.0",
        "io/github/weir-ratelimit/weir-client-kotlin": "0.1.0",
        "org/jetbrains/kotlin/kotlin-stdlib": versions["kotlin"],
        "org/jetbrains/kotlinx/kotlinx-coroutines-core-jvm": versions["kotlinx-coroutines"],
    }
    jars = [repository / path / version / f"{pathlib.Path(path).name}-{version}.jar" for path, version in needed.items()]
    path = ":".join(map(str, [project / "target" / "classes", *jars]))
    for number, expected in enumerate(programs.values()):
        run = ["java", "-cp", path, f"program{number}.Program{number}Kt"]
        printed = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout
        # Fewer seconds are left on a busy machine.
        if re.sub(r"wait \d+ s", "wait 10 s", printed) != expected:
            sys.exit(f"the page promises\n{expected}but its code printed\n{printed}")
    compiled = len(list(project.glob("src/main/*/[bB]lock*")))
    print(f"   {compiled} blocks of the guide and of README.md compile, and {len(programs)} Kotlin programs print what they promise")


def of_java(code: str) -> str:
    """A part of a program as a whole file: classes, members of a class, an annotation alone, or statements."""
    code = code.replace("{ … }", "{ throw new UnsupportedOperationException(); }")
    if re.search(r"^class ", code, re.MULTILINE):
        return code
    if not code.startswith("@"):
        return f"class Block {{ Weir weir; String user; void run() {{\n{code}}} }}\n"
    method = "" if code.endswith("}\n") else "void call() {}\n"
    return f"class Block {{\n{code}{method}}}\n"


def write(file: pathlib.Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


main()
