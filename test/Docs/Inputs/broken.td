```mlir
// RUN-EXAMPLE
module {
}
```

```mlir
// RUN-EXAMPLE --allow-unregistered-dialect
module {
  "test.use"(%undeclared) : (i32) -> ()
}
```
