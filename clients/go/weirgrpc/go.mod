module github.com/weir-ratelimit/weir-go/weirgrpc

go 1.24.0

require (
	github.com/weir-ratelimit/weir-go v0.1.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20251202230838-ff82c1b0f217
	google.golang.org/grpc v1.79.3
	google.golang.org/protobuf v1.36.10
)

require (
	golang.org/x/net v0.48.0 // indirect
	golang.org/x/sys v0.39.0 // indirect
	golang.org/x/text v0.32.0 // indirect
)

replace github.com/weir-ratelimit/weir-go => ../
