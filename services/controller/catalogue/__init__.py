"""What scenarios can name: data sets, behaviours, attacks, defences; trained models; the schema of
scenarios."""
