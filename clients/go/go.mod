module github.com/weir-ratelimit/weir-go

go 1.19
