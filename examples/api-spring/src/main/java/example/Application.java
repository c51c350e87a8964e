package example;

import io.github.weirratelimit.spring.RateLimit;
import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** A catalogue that counts addresses, and a mailer with limits of each user per second, minute, hour and day. */
@SpringBootApplication
@RestController
public class Application {
    public static void main(String[] args) {
        SpringApplication.run(Application.class, args);
    }

    @GetMapping("/")
    public String ready() {
        return "ready";
    }

    @RateLimit(namespace = "api", attributes = {"ip=#ip", "route=#route"})
    @GetMapping("/v4/movies")
    public List<String> movies() {
        return List.of("Metropolis", "Playtime");
    }

    /** An application with sign-in would count {@code #principal.name}. */
    @RateLimit(namespace = "email", attributes = "user=#headers['x-user']")
    @PostMapping("/api/send-email")
    @ResponseStatus(HttpStatus.ACCEPTED)
    public void send() {}
}
