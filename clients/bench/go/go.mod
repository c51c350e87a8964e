module example.com/latency

go 1.19

require github.com/weir-ratelimit/weir-go v0.0.0

replace github.com/weir-ratelimit/weir-go => ../../go
