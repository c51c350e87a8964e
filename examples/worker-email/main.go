// A worker that sends an e-mail to each address of its standard input, and waits before each one until the provider's limit allows it. Any
// number of these workers, on any machines, respect the limit together.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/smtp"
	"os"
	"time"

	weir "github.com/weir-ratelimit/weir-go"
)

const (
	from = "news@example.com"
	// An e-mail that has waited for so long is not sent: its address is reported, and the next run can take it.
	longest = time.Minute
)

func main() {
	client, err := weir.New(weir.Options{
		URL: os.Getenv("WEIR_GATE_URL"),
		Key: os.Getenv("WEIR_KEY"),
		// An e-mail can be late. Above its limit, the provider would block the sender.
		OnError: weir.Deny,
		Timeout: 5 * time.Second,
		// A check whose connection failed is repeated, and is not counted twice.
		Retry: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	failed := 0
	addresses := bufio.NewScanner(os.Stdin)
	for addresses.Scan() {
		if err := send(client, addresses.Text()); err != nil {
			log.Printf("%s: %v", addresses.Text(), err)
			failed++
			continue
		}
		fmt.Println("sent to", addresses.Text())
	}
	if addresses.Err() != nil || failed > 0 {
		log.Fatalf("%d were not sent; %v", failed, addresses.Err())
	}
}

func send(client *weir.Client, to string) error {
	request := weir.CheckRequest{Namespace: "email", Attributes: map[string]string{"provider": "smtp"}}
	answer, err := client.Wait(context.Background(), request, longest)
	if err != nil {
		return err
	}
	if !answer.Allowed {
		return fmt.Errorf("not allowed within %v (no gate: %v)", longest, answer.Err)
	}
	message := fmt.Sprintf("From: %s\r\nTo: %s\r\nSubject: News\r\n\r\nHello.\r\n", from, to)
	return smtp.SendMail(os.Getenv("SMTP_ADDRESS"), nil, from, []string{to}, []byte(message))
}
