module example.com/worker-email

go 1.19

require github.com/weir-ratelimit/weir-go v0.1.0

replace github.com/weir-ratelimit/weir-go => ../../clients/go
