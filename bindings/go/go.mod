module klog/bindings/go

go 1.24
