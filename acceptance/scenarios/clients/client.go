// Sends and receives with the Go client, and says so line by line: see clients.py.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

const invisible = 10 * time.Second

var writing sync.Mutex

func say(format string, args ...any) {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	line := fmt.Sprintf("%s %d\n", text, time.Now().UnixMilli())
	writing.Lock()
	defer writing.Unlock()
	os.Stdout.WriteString(line)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func config(group string) *rmq.Config {
	return &rmq.Config{Endpoint: os.Getenv("GRPC"), ConsumerGroup: group, Credentials: &credentials.SessionCredentials{}}
}

func main() {
	rmq.EnableSsl = os.Getenv("TLS") == "1"
	topic, group, roles := os.Args[1], os.Args[2], ","+os.Args[3]+","
	seconds := must(strconv.Atoi(os.Args[4]))
	hold, _ := strconv.Atoi(os.Getenv("HOLD_MS"))
	all := map[string]*rmq.FilterExpression{topic: rmq.SUB_ALL}
	if strings.Contains(roles, ",push,") {
		c := must(rmq.NewPushConsumer(config(group+"_push"), rmq.WithPushAwaitDuration(5*time.Second),
			rmq.WithPushSubscriptionExpressions(all), rmq.WithPushConsumptionThreadCount(4), rmq.WithPushMaxCacheMessageCount(1024),
			rmq.WithPushMessageListener(&rmq.FuncMessageListener{Consume: func(m *rmq.MessageView) rmq.ConsumerResult {
				say("push got %s", m.GetBody())
				time.Sleep(time.Duration(hold) * time.Millisecond)
				say("push done %s", m.GetBody())
				return rmq.SUCCESS
			}})))
		must(0, c.Start())
	}
	if strings.Contains(roles, ",simple,") {
		c := must(rmq.NewSimpleConsumer(config(group+"_simple"), rmq.WithSimpleAwaitDuration(10*time.Second),
			rmq.WithSimpleSubscriptionExpressions(all)))
		must(0, c.Start())
		go receive(c)
	}
	if strings.Contains(roles, ",send,") {
		p := must(rmq.NewProducer(config(""), rmq.WithTopics(topic)))
		must(0, p.Start())
		go send(p, topic)
	}
	say("ready")
	time.Sleep(time.Duration(seconds) * time.Second)
	os.Exit(0)
}

func receive(c rmq.SimpleConsumer) {
	holdFrom, taken := must(strconv.Atoi(cmp.Or(os.Getenv("HOLD_FROM"), "1000000000"))), 0
	for {
		got, err := c.Receive(context.Background(), 16, invisible)
		for _, m := range got {
			say("lease ends %s %d", m.GetBody(), leaseEnd(m.GetReceiptHandle()))
			say("simple got %s", m.GetBody())
		}
		taken += len(got)
		for i, m := range got {
			if taken >= holdFrom && i >= len(got)/2 {
				select {}
			}
			if err := c.Ack(context.Background(), m); err != nil {
				say("error simple %v", err)
				continue
			}
			say("simple acked %s", m.GetBody())
		}
		// A poll without messages is an error in this client.
		if err != nil && len(got) == 0 && !strings.Contains(err.Error(), "40401") {
			say("error simple %v", err)
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// leaseEnd says when a message comes to others, in ms: a handle has the time of its pop and how long it lasts.
func leaseEnd(handle string) int64 {
	parts := strings.Split(handle, " ")
	return must(strconv.ParseInt(parts[1], 10, 64)) + must(strconv.ParseInt(parts[2], 10, 64))
}

func send(p rmq.Producer, topic string) {
	for i := 0; ; i++ {
		m := &rmq.Message{Topic: topic, Body: fmt.Appendf(nil, "go-%d", i)}
		m.SetDelayTimestamp(time.Now().Add(300 * time.Millisecond))
		if _, err := p.Send(context.Background(), m); err != nil {
			say("error send %v", err)
		} else {
			say("send sent %s", m.Body)
		}
		time.Sleep(250 * time.Millisecond)
	}
}
