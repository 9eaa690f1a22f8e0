-- models: Models that dumps of a lake ran, once each.
--
-- columns:
--   model_id      BIGINT  Number of the model.
--   name          STRING  Name of the model.
--   backend       STRING  Backend it is lowered to; null if none.
--   quantization  STRING  Quantization scheme; null if none.
SELECT DISTINCT model_id, name, backend, quantization
FROM lake_models
WHERE model_id IN (SELECT model_id FROM dumps)
