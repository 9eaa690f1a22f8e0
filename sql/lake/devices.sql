-- devices: Devices that dumps of a lake were recorded on, once each.
--
-- columns:
--   device_id   BIGINT  Number of the device.
--   name        STRING  Name of the device.
--   pool        STRING  Device pool it belongs to; null if none.
--   os          STRING  Operating system; null if unknown.
--   os_version  STRING  Version of the operating system; null if unknown.
--   arch        STRING  Processor architecture; null if unknown.
--   soc         STRING  System on chip or processor; null if unknown.
SELECT DISTINCT device_id, name, pool, os, os_version, arch, soc
FROM lake_devices
WHERE device_id IN (SELECT device_id FROM dumps)
