"""What operators run beside the product: canary, doctor, second reader, backups. Only admin and the commands use them."""
